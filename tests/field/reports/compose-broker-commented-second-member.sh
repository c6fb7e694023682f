# 6. Send more data with our producer

k6,v6
k7,v7

# Check that messages come to different consumers



# th 1 members (kafka.coordinator.group.GroupCoordinator)
# kafka1    | [2022-08-23 11:36:29,677] INFO [GroupCoordinator 1]: Assignment received from leader consumer-cons3-1-bddde742-39d2-4cc1-805a-da6bbefa95e1 for group cons3 for generation 1. The group has 1 members, 0 of which are static. (kafka.coordinator.group.GroupCoordinator)
# kafka1    | [2022-08-23 11:37:39,759] INFO [Controller id=1] Processing automatic preferred replica leader election (kafka.controller.KafkaController)
# kafka1    | [2022-08-23 11:39:06,136] INFO [GroupCoordinator 1]: Dynamic member with unknown member id joins group cons3 in Stable state. Created a new member id consumer-cons3-1-e76f6acd-afb1-46c9-b05e-f139daa424c4 and request the member to rejoin with this id. (kafka.coordinator.group.GroupCoordinator)
# kafka1    | [2022-08-23 11:39:06,139] INFO [GroupCoordinator 1]: Preparing to rebalance group cons3 in state PreparingRebalance with old generation 1 (__consumer_offsets-6) (reason: Adding new member consumer-cons3-1-e76f6acd-afb1-46c9-b05e-f139daa424c4 with group instance id None) (kafka.coordinator.group.GroupCoordinator)
# kafka1    | [2022-08-23 11:39:08,708] INFO [GroupCoordinator 1]: Stabilized group cons3 generation 2 (__consumer_offsets-6) with 2 members (kafka.coordinator.group.GroupCoordinator)
# kafka1    | [2022-08-23 11:39:08,711] INFO [GroupCoordinator 1]: Assignment received from leader consumer-cons3-1-bddde742-39d2-4cc1-805a-da6bbefa95e1 for group cons3 for generation 2. The group has 2 members, 0 of which are static. (kafka.coordinator.group.GroupCoordinator)
